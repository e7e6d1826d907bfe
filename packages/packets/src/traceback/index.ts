export {
  Collector,
  type CollectorOptions,
  type CollectorStatus,
  type PacketAnswer,
} from './collector/collector.ts';
export { DEFAULT_PAYLOAD_BYTES } from './digests/invariant-bytes.ts';
export { maskedPacket } from './digests/masked-packet.ts';
export { invariantOf } from './digests/one-packet.ts';
export { collectorClient } from './graph/collector-client.ts';
export { decoysOf } from './graph/decoys.ts';
export { type GraphNode, type TraceGraph, traceGraph } from './graph/path-odds.ts';
export { type CollectorEntry, parseTopology, type Topology } from './graph/topology.ts';
export { walkBack } from './graph/walk.ts';
export { DigestService, type DigestServiceOptions } from './service/digest-service.ts';
export type { TimeSpan } from './tables/digest-table.ts';
export { TracebackError, type TracebackErrorCode } from './traceback-error.ts';
export { formsOf } from './transforms/packet-forms.ts';
