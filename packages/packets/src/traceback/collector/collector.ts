/**
 * A collector: takes the packets of one place, keeps digests of them and of their sources on disk,
 * and answers questions about them.
 *
 * It is the whole of `bloomery digestd` without capture files, HTTP and the command line, so it can
 * run inside another program as well. The caller passes batches of packets, calls `flush` several
 * times a second, and holds the folder's lock.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hashKey, SecretKey } from 'bloomery';
import type { Tunnel } from '../../capture/headers/find-inner.ts';
import { HeaderBatch, MARK, STATUS } from '../../capture/headers/header-batch.ts';
import { type HeaderCounts, HeaderDecoder } from '../../capture/headers/header-decoder.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';
import { SOURCE_SLACK_S } from '../digests/digest-kernel.ts';
import { DEFAULT_PAYLOAD_BYTES } from '../digests/invariant-bytes.ts';
import { invariantOf } from '../digests/one-packet.ts';
import { PacketDigester } from '../digests/packet-digester.ts';
import { TableStore } from '../store/table-store.ts';
import { TransformLog } from '../store/transform-log.ts';
import { DEFAULT_BITS, DEFAULT_TABLE_BYTES, type TimeSpan, tableShape } from '../tables/digest-table.ts';
import type { SeenAnswer } from '../tables/table-answer.ts';
import { TracebackError } from '../traceback-error.ts';
import { ChangeWatch } from '../transforms/change-watch.ts';
import type { PacketForm } from '../transforms/packet-forms.ts';
import { packetFrom, TransformTable } from '../transforms/transform-table.ts';

export interface CollectorOptions {
  readonly folder: string;
  /** The collector's secret, 16 random bytes that stay the same over restarts. */
  readonly key: Uint8Array;
  /** Bytes of the payload in a digest. Default 44. */
  readonly payloadBytes?: number;
  /** Bits per distinct digest in a full table. Default 10. */
  readonly bitsPerDigest?: number;
  /** Bytes of a table of packets, a power of two. Default 1 MiB. */
  readonly tableBytes?: number;
  /** The longest time that a table spans, in seconds. Default 60. */
  readonly spanS?: number;
  /** Bytes on disk. Default 2 GB. A sixteenth of them is for the sources. */
  readonly budgetBytes?: number;
  /** Seconds after which tables are discarded. Default a day. */
  readonly budgetS?: number;
  /** Tunnels whose inner packets are digested as well. Default none. */
  readonly tunnels?: readonly Tunnel[];
  /** Looks for packets that this router changed (NAT, fragments). Default false. */
  readonly changes?: boolean;
  /** Called with a sentence about each problem that the collector gets around. */
  readonly warn?: (message: string) => void;
}

/** An answer to "did you see this packet?". */
export interface PacketAnswer extends SeenAnswer {
  /** The packet before this router changed it, one for each change. */
  readonly changes: readonly PacketForm[];
}

export interface CollectorStatus {
  readonly payloadBytes: number;
  readonly headers: HeaderCounts;
  /** Packets with a digest. */
  readonly digested: number;
  /** Packets without one, because the capture cut them. */
  readonly cut: number;
  readonly tables: number;
  readonly sourceTables: number;
  readonly bytes: number;
  readonly discarded: number;
  readonly changes: number;
  readonly coveredFromS: number | null;
}

/** The share of the budget that the sources have. */
const SOURCE_SHARE = 1 / 16;

export class Collector {
  readonly payloadBytes: number;
  readonly #key: SecretKey;
  readonly #digester: PacketDigester;
  readonly #decoder = new HeaderDecoder();
  readonly #innerDecoder: HeaderDecoder | null;
  #headers = new HeaderBatch(1);
  #innerHeaders = new HeaderBatch(1);
  readonly #packets: TableStore;
  readonly #sources: TableStore;
  readonly #watch: ChangeWatch | null;
  readonly #changes = new TransformTable();
  readonly #log: TransformLog;

  private constructor(options: CollectorOptions) {
    const { folder, key, payloadBytes = DEFAULT_PAYLOAD_BYTES, warn = () => {} } = options;
    const { bitsPerDigest = DEFAULT_BITS, tableBytes = DEFAULT_TABLE_BYTES, spanS = 60 } = options;
    const { budgetBytes = 2e9, budgetS = 86_400, tunnels = [], changes = false } = options;
    this.payloadBytes = payloadBytes;
    this.#key = new SecretKey(key);
    this.#digester = new PacketDigester({ key, payloadBytes });
    this.#innerDecoder = tunnels.length === 0 ? null : new HeaderDecoder({ tunnels });
    const shared = { key: this.#key, spanS, warn };
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#packets = TableStore.open({
      ...shared,
      folder: join(folder, 'packets'),
      kind: 'packets',
      payloadBytes,
      shape: tableShape(tableBytes, bitsPerDigest),
      budget: { bytes: budgetBytes * (1 - SOURCE_SHARE), seconds: budgetS },
    });
    this.#sources = TableStore.open({
      ...shared,
      folder: join(folder, 'sources'),
      kind: 'sources',
      payloadBytes: 0,
      shape: tableShape(Math.max(64, tableBytes * SOURCE_SHARE), bitsPerDigest),
      budget: { bytes: budgetBytes * SOURCE_SHARE, seconds: budgetS },
    });
    const { scheme } = this.#key;
    this.#watch = changes ? new ChangeWatch({ scheme, payloadBytes }) : null;
    this.#log = new TransformLog(folder);
    for (const change of this.#log.read()) this.#changes.add(change);
  }

  /** Opens the folder of a collector, or makes it. */
  static open(options: CollectorOptions): Collector {
    return new Collector(options);
  }

  /** Takes a batch of packets. */
  take(batch: PacketBatch): void {
    if (this.#headers.capacity < batch.count) {
      this.#headers = new HeaderBatch(batch.capacity);
      this.#innerHeaders = new HeaderBatch(batch.capacity);
    }
    const headers = this.#headers;
    this.#decoder.decode(batch, headers);
    for (const digests of this.#digester.digest(batch, headers, { sources: true })) {
      const { hashes, times, sourceWords, sourceTimes } = digests;
      this.#packets.add(hashes.words, times);
      this.#sources.add(sourceWords, sourceTimes);
      for (const change of this.#watch?.take(batch, headers, digests) ?? []) {
        if (this.#changes.add(change)) this.#log.add(change);
      }
    }
    if (this.#innerDecoder !== null) this.#takeInner(batch, this.#innerDecoder);
  }

  /** Writes what is not on disk yet. To be called several times a second. */
  flush(): void {
    this.#packets.flush();
    this.#sources.flush();
    this.#log.flush();
  }

  /** Asks whether a packet passed, given from its IP header on. */
  async seen(packet: Uint8Array, window: TimeSpan): Promise<PacketAnswer> {
    const hash = hashKey(invariantOf(packet, this.payloadBytes), this.#key.scheme);
    const hashes = new Map([[this.payloadBytes, hash]]);
    const hashFor = (payloadBytes: number) => {
      // Tables from before a change of the setting have digests of another length.
      let found = hashes.get(payloadBytes);
      if (found === undefined) {
        try {
          found = hashKey(invariantOf(packet, payloadBytes), this.#key.scheme);
        } catch (error) {
          if (error instanceof TracebackError) return null;
          throw error;
        }
        hashes.set(payloadBytes, found);
      }
      return found;
    };
    const answer = await this.#packets.ask(hashFor, window);
    const found = this.#changes.find(hash.low, hash.high, window.firstS, window.lastS);
    const changes = found.map(({ kind, earlier }) => ({ kind, packet: packetFrom(earlier) }));
    return { ...answer, changes };
  }

  /** Asks whether anything from an address of 4 or 16 bytes passed. */
  source(address: Uint8Array, { firstS, lastS }: TimeSpan): Promise<SeenAnswer> {
    const hash = hashKey(address, this.#key.scheme);
    const window = { firstS: firstS - SOURCE_SLACK_S, lastS: lastS + SOURCE_SLACK_S };
    return this.#sources.ask(() => hash, window);
  }

  get status(): CollectorStatus {
    const coveredFromS = this.#packets.coveredFromS;
    return {
      payloadBytes: this.payloadBytes,
      headers: this.#decoder.counts,
      digested: this.#digester.packets,
      cut: this.#digester.cut,
      tables: this.#packets.tables.length,
      sourceTables: this.#sources.tables.length,
      bytes: this.#packets.bytes + this.#sources.bytes,
      discarded: this.#packets.discarded + this.#sources.discarded,
      changes: this.#changes.size,
      coveredFromS: Number.isFinite(coveredFromS) ? coveredFromS : null,
    };
  }

  /** Compares the checksums of all tables. Returns how many were damaged. */
  async verify(signal?: AbortSignal): Promise<number> {
    return (await this.#packets.verify(signal)) + (await this.#sources.verify(signal));
  }

  close(): void {
    this.flush();
    this.#packets.close();
    this.#sources.close();
  }

  #takeInner(batch: PacketBatch, decoder: HeaderDecoder): void {
    const headers = this.#innerHeaders;
    decoder.decode(batch, headers);
    let inner = 0;
    for (let row = 0; row < headers.count; row++) {
      if (headers.status[row] === STATUS.decoded && (headers.marks[row] & MARK.inner) !== 0) inner++;
      else headers.status[row] = STATUS.notIp;
    }
    if (inner === 0) return;
    for (const { hashes, times } of this.#digester.digest(batch, headers)) {
      this.#packets.add(hashes.words, times);
    }
  }
}
