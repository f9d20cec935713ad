import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIP } from "node:net";

export interface NameServer {
  /** For `servers` of a look-up. */
  address: string;
  /** Each question so far, as `name A` or `name AAAA`. */
  asked: string[];
  close(): Promise<void>;
}

/** Addresses of both families with their TTL; null: it never answers. Called for each question. */
type Answers = (name: string, family: number) => Promise<Known | null> | Known | null;
interface Known {
  addresses: string[];
  ttl?: number;
  /** Answers for IPv4 only and leaves the other question unanswered. */
  deaf6?: boolean;
}

const types: Record<number, { name: string; family: number }> = {
  1: { name: "A", family: 4 },
  28: { name: "AAAA", family: 6 },
};

/** A real name server on loopback, as far as addresses go. */
export async function startNameServer(answers: Answers): Promise<NameServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", async (message, peer) => {
    const { name, type, end } = readQuestion(message);
    const kind = types[type];
    asked.push(`${name} ${kind?.name}`);
    const known = kind ? await answers(name, kind.family) : null;
    if (!known || !kind || (known.deaf6 && kind.family === 6)) return;
    const records = known.addresses
      .filter((address) => isIP(address) === kind.family)
      .map((address) => encodeRecord(address, type, known.ttl ?? 60));
    const header = Buffer.alloc(12);
    message.copy(header, 0, 0, 2);
    // A name without any address at all is unknown.
    header.writeUInt16BE(0x8180 | (known.addresses.length === 0 ? 3 : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, message.subarray(12, end), ...records]), peer.port, peer.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** Points back to the question's name. */
function encodeRecord(address: string, type: number, ttl: number): Buffer {
  const data = isIP(address) === 4 ? Buffer.from(address.split(".").map(Number)) : encode6(address);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(ttl, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function encode6(address: string): Buffer {
  const [front = "", back = ""] = address.split("::");
  const words = (part: string) => part.split(":").filter(Boolean);
  const zeros = Array.from({ length: 8 - words(front).length - words(back).length }, () => "0");
  const all = [...words(front), ...(address.includes("::") ? zeros : []), ...words(back)];
  return Buffer.from(all.map((word) => word.padStart(4, "0")).join(""), "hex");
}
