/**
 * A name server on loopback for tests: it answers questions for A, AAAA and SRV records over UDP
 * (RFC 1035), from a zone that the test changes at any time. It can fail and fall silent.
 *
 * Answers have the TTL of their record and at most 1,232 bytes, the size that resolvers announce
 * today: about 40 addresses. Longer ones would need TCP, and are refused here.
 */

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

export interface DnsHost {
  /** IPv4 and IPv6 addresses. */
  readonly addresses: readonly string[];
  /** Seconds. */
  readonly ttl?: number;
}

export interface DnsService {
  readonly targets: readonly { readonly host: string; readonly port: number }[];
  readonly ttl?: number;
}

/** The behaviour of the server: it answers from the zone, reports a failure, or says nothing. */
export type DnsMode = 'answers' | 'fails' | 'silent';

const A = 1;
const AAAA = 28;
const SRV = 33;
const IN = 1;
const SERVER_FAILURE = 2;
const NAME_ERROR = 3;
const HEAD_BYTES = 12;
const MOST_BYTES = 1232;
const DEFAULT_TTL = 60;

export class DnsServer implements AsyncDisposable {
  readonly hosts = new Map<string, DnsHost>();
  readonly services = new Map<string, DnsService>();
  mode: DnsMode = 'answers';
  /** Questions that came, as `A caches.test`. */
  readonly questions: string[] = [];
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (message, { address, port }) => {
      const answer = this.#answer(message);
      if (answer !== null) socket.send(answer, port, address);
    });
  }

  static async start(): Promise<DnsServer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new DnsServer(socket);
  }

  /** The address for `Resolver.setServers`. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  #answer(message: Buffer): Buffer | null {
    if (message.length < HEAD_BYTES || message.readUInt16BE(4) !== 1) return null;
    const { name, end } = readName(message, HEAD_BYTES);
    const type = message.readUInt16BE(end);
    const word = { [A]: 'A', [AAAA]: 'AAAA', [SRV]: 'SRV' }[type] ?? String(type);
    this.questions.push(`${word} ${name}`);
    if (this.mode === 'silent') return null;
    const question = message.subarray(HEAD_BYTES, end + 4);
    const isKnown = this.hosts.has(name) || this.services.has(name);
    const code = this.mode === 'fails' ? SERVER_FAILURE : isKnown ? 0 : NAME_ERROR;
    const records = code === 0 ? this.#records(name, type) : [];
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt16BE(message.readUInt16BE(0), 0);
    // A response with authority, recursion desired and available.
    head.writeUInt16BE(0x8580 | code, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    const answer = Buffer.concat([head, question, ...records]);
    if (answer.length > MOST_BYTES)
      throw new RangeError(
        `Cannot answer over UDP: expected at most ${MOST_BYTES} bytes, got ${answer.length} (${name})`,
      );
    return answer;
  }

  #records(name: string, type: number): Buffer[] {
    if (type === SRV) {
      const { targets = [], ttl = DEFAULT_TTL } = this.services.get(name) ?? {};
      return targets.map(({ host, port }) => {
        const numbers = Buffer.alloc(6);
        numbers.writeUInt16BE(port, 4);
        return record(type, ttl, Buffer.concat([numbers, writeName(host)]));
      });
    }
    const { addresses = [], ttl = DEFAULT_TTL } = this.hosts.get(name) ?? {};
    const wanted = addresses.filter((address) => (isIPv4(address) ? A : AAAA) === type);
    return wanted.map((address) => record(type, ttl, bytesOf(address)));
  }
}

function record(type: number, ttl: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12);
  // The name of the question, which begins after the head.
  head.writeUInt16BE(0xc000 | HEAD_BYTES, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(IN, 4);
  head.writeUInt32BE(ttl, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function readName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  while (message[at] !== 0) {
    const length = message[at]!;
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  return Buffer.concat([...labels.flat(), Buffer.from([0])]);
}

/** The bytes of an address. An IPv6 address has one `::` at most, and no dotted part. */
function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [before = '', after] = address.split('::');
  const words = (text: string) => text.split(':').filter((word) => word !== '');
  const [first, last] = [words(before), words(after ?? '')];
  const zeros = Array<string>(8 - first.length - last.length).fill('0');
  const bytes = Buffer.alloc(16);
  for (const [i, word] of [...first, ...zeros, ...last].entries())
    bytes.writeUInt16BE(Number.parseInt(word, 16), 2 * i);
  return bytes;
}
