export { QUEUE_CHOICES, type QueueName } from './queue-choices.ts';
export {
  type BottleneckOptions,
  type BottleneckResult,
  type QueueTools,
  SimPacket,
  simulateBottleneck,
  type TcpLoad,
} from './simulate-bottleneck.ts';
