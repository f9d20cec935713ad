/** Choices that exclude each other, each with what it means. Stands in a fieldset. */
export function RadioRows<Value extends string>(props: {
  name: string;
  choices: readonly { value: Value; label: string; meaning: string }[];
  chosen: Value;
  choose: (value: Value) => void;
}) {
  return (
    <div className="divide-y divide-line rounded-card border border-line bg-raised">
      {props.choices.map(({ value, label, meaning }) => (
        <label key={value} className="flex gap-3 px-4 py-3 text-13">
          <input
            type="radio"
            name={props.name}
            value={value}
            checked={props.chosen === value}
            onChange={() => props.choose(value)}
            className="mt-1 self-start accent-ink"
          />
          <span className="flex flex-col">
            <span className="font-medium">{label}</span>
            <span className="text-muted">{meaning}</span>
          </span>
        </label>
      ))}
    </div>
  );
}
