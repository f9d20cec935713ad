import type { ComponentProps } from "react";
import { classNames } from "./class-names.ts";
import { Spinner } from "./spinner.tsx";

const looks = {
  primary: "bg-ink text-bg hover:bg-ink/88 active:bg-ink/80",
  secondary: "border border-line bg-raised text-ink hover:border-control active:bg-panel",
  quiet: "text-ink hover:bg-ink/6 active:bg-ink/10",
  danger: "bg-danger text-bg hover:bg-danger/90 active:bg-danger/80",
} as const;

const sizes = {
  small: "h-7 gap-1.5 px-2.5 text-13",
  medium: "h-9 gap-2 px-3.5 text-13",
  large: "h-10 gap-2 px-4 text-15",
  icon: "size-8 text-13 pointer-coarse:size-10",
} as const;

export interface ButtonLook {
  look?: keyof typeof looks;
  size?: keyof typeof sizes;
}

/** For links that look like buttons. */
export function buttonClasses({ look = "secondary", size = "medium" }: ButtonLook = {}): string {
  return classNames(
    "inline-flex shrink-0 items-center justify-center whitespace-nowrap rounded-control font-medium select-none",
    "transition-colors disabled:opacity-55 aria-disabled:opacity-70",
    looks[look],
    sizes[size],
  );
}

type ButtonProps = ComponentProps<"button"> & ButtonLook & { pending?: boolean | undefined };

/** A pending button keeps the focus and ignores clicks, so that nothing jumps and nothing happens twice. */
export function Button({ look, size, pending, className, children, onClick, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={classNames(buttonClasses({ ...(look && { look }), ...(size && { size }) }), className)}
      aria-disabled={pending || undefined}
      aria-busy={pending || undefined}
      onClick={(event) => (pending ? event.preventDefault() : onClick?.(event))}
      {...rest}
    >
      {pending && <Spinner />}
      {children}
    </button>
  );
}
