/**
 * `fetchFrom(peers, digest, options)`: one file from many partial holders. With a server, this node
 * hands out what it has while it fetches, and for a while afterwards.
 */

import { statSync } from 'node:fs';
import type { MemberSource } from '@bloomery/transport/membership';
import { DeliveryError } from '../delivery-error.ts';
import type { BlockServer } from '../serve/block-server.ts';
import { PartialFile } from '../store/partial-file.ts';
import { WholeFile } from '../store/whole-file.ts';
import type { DeliveryEvent, DeliveryReport } from './delivery-report.ts';
import { FetchJob } from './fetch-job.ts';
import type { FetchLimits } from './fetch-limits.ts';

export interface FetchFromOptions {
  /** The place of the finished file. Its folder must exist. */
  readonly path: string;
  /** Whether another file at that place may be replaced. Default false. */
  readonly force?: boolean | undefined;
  readonly origin?: string | null | undefined;
  readonly server?: BlockServer | null | undefined;
  /**
   * The longest time to serve peers that still fetch, after the file is there. Default 0. The
   * promise resolves after it; `done` is told at once.
   */
  readonly lingerMs?: number | undefined;
  readonly limits?: Partial<FetchLimits> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly event?: DeliveryEvent | undefined;
  /** Called once the job runs, with a function that returns the report of the moment. */
  readonly started?: ((report: () => DeliveryReport) => void) | undefined;
  readonly done?: ((report: DeliveryReport) => void) | undefined;
}

const DIGEST = /^[0-9a-f]{64}$/;

export async function fetchFrom(
  peers: readonly string[] | MemberSource,
  digest: string,
  options: FetchFromOptions,
): Promise<DeliveryReport> {
  const { path, force = false, origin, server, lingerMs = 0, signal } = options;
  if (!DIGEST.test(digest))
    throw new TypeError(
      `Cannot fetch a file: expected a SHA-256 of 64 digits 0-9a-f, got ${JSON.stringify(digest)} (digest)`,
    );
  const present = await presentFile(path, digest, force, signal);
  if (present !== null) {
    options.done?.(present);
    return present;
  }
  const file = await PartialFile.open(path, digest, signal);
  const job = new FetchJob({ ...options, file, peers, origin, server });
  options.started?.(() => job.report);
  try {
    const report = await job.run();
    options.done?.(report);
    await job.linger(lingerMs);
    return report;
  } finally {
    await job.close();
  }
}

/**
 * The report of a file that is at the place already and is the right one; null if the place is
 * free or may be replaced.
 */
async function presentFile(
  path: string,
  digest: string,
  force: boolean,
  signal: AbortSignal | undefined,
): Promise<DeliveryReport | null> {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
  const file = await WholeFile.open(path, { signal });
  await file.close();
  if (file.digest !== digest) {
    if (force) return null;
    throw new DeliveryError('exists', `write ${path}`, 'expected no other file there, found one');
  }
  const { size, blockBytes, blocks } = file.shape;
  return {
    digest,
    phase: 'done',
    size,
    blockBytes,
    blocks,
    hasBlocks: blocks,
    resumedBytes: size,
    originBytes: 0,
    peerBytes: 0,
    wastedBytes: 0,
    refuted: 0,
    peers: [],
    banned: [],
    origins: new Array(blocks).fill('resumed'),
  };
}
