export { FairQueue, type FairQueueOptions } from './fair-queue.ts';
export { FifoQueue } from './fifo-queue.ts';
export { IpItem, IpQueue } from './ip-queue.ts';
export { filterMisclassified, levelsMisclassified } from './math/misclassification.ts';
export type { Draw, PacketQueue, QueueItem, QueueLimits } from './packet-queue.ts';
export { type RedOptions, RedQueue } from './red-queue.ts';
export type { BucketOptions, Punishment } from './sfb/penalty-box.ts';
export type { LinuxSfbOptions, SurveySfbOptions } from './sfb/sfb-options.ts';
export { SfbQueue, type SfbStats } from './sfb/sfb-queue.ts';
