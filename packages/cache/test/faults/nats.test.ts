import { whyNoNetwork } from '@bloomery/testkit/network/virtual-network';
import { test } from 'vitest';
import { SURVIVAL_MS, surviveFaults } from './fault-rounds.ts';

const why = whyNoNetwork();

test.skipIf(why !== null)(
  `a fleet over NATS gives right answers under every fault${why === null ? '' : ` (skipped: ${why})`}`,
  { timeout: SURVIVAL_MS },
  () => surviveFaults('nats'),
);
