/** Worked out by the HTTP server, which overwrites whatever a client sent under this name. */
export const clientAddressHeader = "x-dormouse-client-address";

export function clientAddress(headers: { get(name: string): string | null }): string {
  return headers.get(clientAddressHeader) ?? "unknown";
}
