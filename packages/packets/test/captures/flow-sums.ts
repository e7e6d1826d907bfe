/**
 * Sums by five-tuple as a map from text to "bytes packets", by our decoders and by nfdump, for
 * comparison to the byte.
 *
 * nfdump shows no type and code of ICMP when it aggregates by ports, so both sides leave them out.
 */

import { spawnSync } from 'node:child_process';
import { type Flow, flowAt, formatAddress } from '../../src/capture/headers/flow-key.ts';
import { type HeaderBatch, STATUS } from '../../src/capture/headers/header-batch.ts';
import { type FlowRecords, KEY_WORDS, type PacketBatch } from '../../src/capture/index.ts';

export type FlowSums = Map<string, string>;

/** Sums that grow. */
export class SumTable {
  readonly #sums = new Map<string, [bytes: number, packets: number]>();

  add(
    { source, destination, sourcePort, destinationPort, protocol }: Flow,
    bytes: number,
    packets: number,
  ): void {
    const isIcmp = protocol === 1 || protocol === 58;
    const ports = isIcmp ? '0 0' : `${sourcePort} ${destinationPort}`;
    const name = `${source} ${destination} ${ports} ${protocol}`;
    const sum = this.#sums.get(name) ?? [0, 0];
    this.#sums.set(name, [sum[0] + bytes, sum[1] + packets]);
  }

  /** Adds the packets of a batch. */
  addPackets(batch: PacketBatch, headers: HeaderBatch): void {
    for (let row = 0; row < headers.count; row++) {
      if (headers.status[row] !== STATUS.decoded) continue;
      const flow = flowAt(headers, row);
      // nfpcapd takes the first extension header of IPv6 for the protocol, and no ports behind it.
      const first = batch.bytes[headers.ipOffset[row] + 6];
      const hasExtension = flow.version === 6 && first !== flow.protocol;
      const seen = hasExtension ? { ...flow, protocol: first, sourcePort: 0, destinationPort: 0 } : flow;
      this.add(seen, headers.ipLength[row], 1);
    }
  }

  /** Adds flow records. */
  addRecords(records: FlowRecords): void {
    for (let row = 0; row < records.count; row++) {
      const version = records.version[row] === 4 ? 4 : 6;
      const words = version === 4 ? 1 : 4;
      const at = row * KEY_WORDS;
      const ports = records.keys[at + 2 * words];
      const flow: Flow = {
        version,
        source: formatAddress(version, records.keys, at),
        destination: formatAddress(version, records.keys, at + words),
        sourcePort: ports >>> 16,
        destinationPort: ports & 0xffff,
        protocol: records.keys[at + 2 * words + 1] & 0xff,
      };
      this.add(flow, records.bytes[row], records.packets[row]);
    }
  }

  get sums(): FlowSums {
    return new Map([...this.#sums].map(([name, [bytes, packets]]) => [name, `${bytes} ${packets}`]));
  }
}

/** The sums of nfdump over a folder of its files. */
export function nfdumpSums(folder: string): FlowSums {
  const table = new SumTable();
  for (const [source, destination, sourcePort, destinationPort, protocol, bytes, packets] of nfdumpLines(
    folder,
    ['-A', 'proto,srcip,dstip,srcport,dstport'],
  )) {
    const version = source.includes(':') ? 6 : 4;
    table.add(
      {
        version,
        source: canonical(source),
        destination: canonical(destination),
        sourcePort: Number(sourcePort),
        destinationPort: Number(destinationPort),
        protocol: Number(protocol),
      },
      Number(bytes),
      Number(packets),
    );
  }
  return table.sums;
}

/** Records that nfdump prints for a folder of its files. */
export function nfdumpLines(folder: string, options: readonly string[] = []): string[][] {
  const format = 'fmt:%sa|%da|%sp|%dp|%pr|%ibyt|%ipkt';
  const { stdout, stderr, status } = spawnSync(
    'nfdump',
    ['-R', folder, ...options, '-N', '-6', '-o', format],
    {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    },
  );
  if (status !== 0) throw new Error(`Cannot run nfdump: expected status 0, got ${status} (${stderr})`);
  const rows = stdout.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return rows.filter((cells) => cells.length === 7 && /^\d+$/.test(cells[6]));
}

/** An address in one spelling. The parser of URLs writes IPv6 as RFC 5952 has it. */
function canonical(address: string): string {
  return address.includes(':') ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
}
