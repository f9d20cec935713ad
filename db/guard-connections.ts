/** What the driver hands to `onexecute`, as far as it is used here. */
interface DriverConnection {
  id: number;
  execute(query: { reject(error: unknown): void }): unknown;
  connect(query: unknown): unknown;
}

export interface ConnectionGuard {
  /** For the driver's option of that name: the connection is gone from this moment on. */
  onclose(id: number): void;
  /** For a statement's option of that name; each connection has to be seen once. */
  onexecute(connection: DriverConnection): boolean;
  readonly seen: number;
}

/**
 * A transaction whose connection is lost still wants to roll back on it. The driver would write that to a socket that
 * is gone, which throws where nobody can catch it, and would leave the connection unusable for good. A connection that
 * was seen refuses statements instead, until it is opened again.
 */
export function createConnectionGuard(): ConnectionGuard {
  const lost = new Set<number>();
  const seen = new Set<DriverConnection>();
  return {
    onclose: (id) => void lost.add(id),
    get seen() {
      return seen.size;
    },
    onexecute(connection) {
      if (seen.has(connection)) return true;
      seen.add(connection);
      const { execute, connect, id } = connection;
      connection.execute = (query) => {
        if (!lost.has(id)) return execute(query);
        query.reject(
          Object.assign(new Error("The connection to the database was lost."), { code: "CONNECTION_CLOSED" }),
        );
        return true;
      };
      connection.connect = (query) => {
        lost.delete(id);
        return connect(query);
      };
      return true;
    },
  };
}
