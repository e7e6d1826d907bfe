/**
 * Prepares the medium that the settings ask for. The client of NATS is an optional package, so it
 * is loaded here, and members of a fleet are made without waiting.
 */

import { loadNatsClient } from '@bloomery/transport/nats';
import type { PeerConfig } from '../../config/peer-config.ts';
import type { MakeMedium } from './fleet-medium.ts';
import { HttpMedium } from './http-medium.ts';
import { MulticastMedium } from './multicast-medium.ts';
import { NatsMedium } from './nats-medium.ts';

/** Rejects if the settings name a NATS server and its client is not installed. */
export async function prepareMedium(config: PeerConfig): Promise<MakeMedium> {
  if (config.multicast !== null) return (own) => new MulticastMedium(config, own);
  if (config.nats === null) return (own) => new HttpMedium(config, own);
  const client = await loadNatsClient();
  return (own) => new NatsMedium(config, own, client);
}
