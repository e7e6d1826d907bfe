export { CaptureDecoder } from './capture-decoder.ts';
export { CaptureError, type CaptureErrorCode } from './capture-error.ts';
export type { Tunnel } from './headers/find-inner.ts';
export { type Flow, flowAt, formatAddress } from './headers/flow-key.ts';
export { HeaderBatch, IPV4_KEY_WORDS, KEY_WORDS, MARK, STATUS } from './headers/header-batch.ts';
export type { HeaderDecoderOptions } from './headers/header-decoder.ts';
export { type HeaderCounts, HeaderDecoder } from './headers/header-decoder.ts';
export { DEFAULT_BATCH_PACKETS, PacketBatch } from './packet-batch.ts';
export { type ByteSource, type ReadBatchesOptions, readBatches } from './reading/read-batches.ts';
