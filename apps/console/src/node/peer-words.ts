/** A neighbour in words: its name, its state, why it is avoided. Pure. */

import type { Peer } from './node-api.ts';

export type PeerMood = 'up' | 'avoided' | 'down' | 'self';

export function moodOf({ state, masked }: Pick<Peer, 'state' | 'masked'>): PeerMood {
  if (state === 'self') return 'self';
  if (state !== 'up') return 'down';
  return masked === null ? 'up' : 'avoided';
}

export function nameOf({ id, address }: Pick<Peer, 'id' | 'address'>): string {
  return id ?? address;
}

export function stateText(peer: Pick<Peer, 'state' | 'masked' | 'maskedUntil'>, now: number): string {
  const mood = moodOf(peer);
  if (mood === 'self') return 'this node, under another address';
  if (mood === 'up') return 'up';
  const why = peer.masked ?? peer.state;
  if (mood === 'down') return why === 'down' ? 'down' : `down: ${why}`;
  const until =
    peer.maskedUntil === null ? '' : `, for ${Math.max(0, Math.ceil((peer.maskedUntil - now) / 1000))} s`;
  return `avoided: ${why}${until}`;
}

/** Neighbours by group, then by name; the leader of a group first. */
export function inOrder(peers: Iterable<Peer>): Peer[] {
  return [...peers].sort(
    (a, b) =>
      (a.group ?? '').localeCompare(b.group ?? '') ||
      Number(b.isLeader) - Number(a.isLeader) ||
      nameOf(a).localeCompare(nameOf(b), 'en', { numeric: true }),
  );
}
