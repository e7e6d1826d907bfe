/**
 * Networks as an operator writes them: those of safety/cidr.ts, and the words `loopback` and `all`.
 * They become plain CIDR texts for the guards.
 */

import { parseCidr } from '../../safety/cidr.ts';
import { LOOPBACK_RANGES } from '../../safety/client-guard.ts';

export type NetworkList = readonly string[];

export function parseNetworks(text: string): NetworkList {
  if (text === 'loopback') return LOOPBACK_RANGES;
  if (text === 'all') return ['0.0.0.0/0', '::/0'];
  parseCidr(text);
  return [text];
}
