export type { LinkFaults } from './link-faults.ts';
export { MemoryNetwork, type MemoryNetworkOptions, type MemoryNode } from './memory-network.ts';
export { MemoryTransport } from './memory-transport.ts';
