/**
 * One large file from many partial holders: `fetchFrom` fetches, `BlockServer` hands out.
 *
 * @example
 * ```ts
 * import { BlockServer, fetchFrom, SeededFile, WholeFile } from '@bloomery/delivery';
 *
 * const file = await WholeFile.open('model.bin');
 * await using seed = await BlockServer.start({ port: 4790 });
 * seed.share(new SeededFile(file));
 * await fetchFrom(['http://127.0.0.1:4790'], file.digest, { path: 'copy.bin' });
 * ```
 */

export { DeliveryError, type DeliveryErrorCode } from './delivery-error.ts';
export type { DeliveryEvent, DeliveryReport, PeerReport } from './fetch/delivery-report.ts';
export { type FetchFromOptions, fetchFrom } from './fetch/fetch-from.ts';
export { FETCH_LIMITS, type FetchLimits } from './fetch/fetch-limits.ts';
export { BlockServer, type BlockServerOptions, type BlockServerStatus } from './serve/block-server.ts';
export { SeededFile } from './serve/seeded-file.ts';
export { SERVER_LIMITS, type ServerLimits } from './serve/server-limits.ts';
export type { SharedFile } from './serve/shared-file.ts';
export { WholeFile } from './store/whole-file.ts';
