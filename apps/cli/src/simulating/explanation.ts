/**
 * The text of `bloomery simulate --explain`: how the simulation works, how each policy works, and
 * what is left out.
 */

import { POLICIES, type PolicyName } from './named-policies.ts';

export function explanation(names: readonly PolicyName[]): string {
  return [
    'Each request goes to the node of its client. If the node holds the object, it answers from its own cache.',
    'Otherwise the policy says where the object comes from, and whether the node keeps it. All policies get the',
    'same requests and the same cache size. Time is virtual; the same seed gives the same figures.',
    '',
    ...names.flatMap((name) => [`${name}: ${POLICIES[name].how}`, `  ${POLICIES[name].cost}`]),
    '',
    'Eviction, summaries, the choice of a neighbour and the owner of an object are the code that a node runs.',
    'Left out: HTTP itself, expiry and validation (objects stay fresh), Vary, disks, the load of processors and',
    'links, faults. A log tells only which requests reached its server: caches in front of it have answered others.',
  ].join('\n');
}
