export interface DatabaseAddress {
  user: string;
  password: string;
  port: number;
  database: string;
}

export function databaseUrl({ user, password, port, database }: DatabaseAddress): string {
  return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}
