import { Notice } from "../../ui/notice.tsx";

export interface NetworkChoice {
  rule: "public" | "listed";
  hosts: string[];
}

/** For people who may see what agents can reach but not change it. */
export function NetworkSummary({ rule, hosts }: NetworkChoice) {
  if (rule === "public") return <Words>Every public address, on the ports for web, SSH and git.</Words>;
  if (hosts.length === 0) return <Words>Nothing: the list of allowed hosts is empty.</Words>;
  return (
    <ul aria-label="Allowed hosts" className="divide-y divide-line rounded-card border border-line bg-raised">
      {hosts.map((host) => (
        <li key={host} className="min-h-9 px-5 py-2 font-mono text-13 [overflow-wrap:anywhere]">
          {host}
        </li>
      ))}
    </ul>
  );
}

function Words({ children }: { children: string }) {
  return <p className="rounded-card border border-line bg-raised px-5 py-4 text-15">{children}</p>;
}

/** Said only where the server's own configuration differs from "every public address". */
export function ServerBound({ internet, exceptions }: { internet: boolean; exceptions: string[] }) {
  if (internet && exceptions.length === 0) return null;
  const listed = <span className="font-mono text-12">{exceptions.join(", ")}</span>;
  return (
    <Notice
      title={internet ? "This server also allows private hosts" : "This server has no internet access for sandboxes"}
    >
      {exceptions.length === 0 ? "Nothing on this page can change that." : internet ? listed : <>Only {listed}.</>}
    </Notice>
  );
}
