/**
 * The port for membership: a source knows the nodes of a fleet, and tells which of them joined and
 * which left. A list in the settings is one source (static-members.ts), a name in the DNS another
 * (dns/dns-members.ts), and `Membership` unites several. A transport that learns its neighbours by
 * itself, as one over a message broker does, needs none.
 *
 * A member is known by the address of its peer port. A source says where a node can be reached, not
 * whether it runs: links find that out, and a member that is down stays a member. We refused to
 * drop members that do not answer, because a partition would then empty the list on both sides.
 */

import type { Cancel } from '../clock.ts';

export interface Member {
  /** The URL of its peer port. It identifies the member. */
  readonly address: string;
  /** The name that the source has for it, such as the target of an SRV record, or null. */
  readonly name: string | null;
  /** The place where it was learnt, in words for an operator: `settings`, `dns caches.internal`. */
  readonly source: string;
}

/** The difference between two states of a source. At least one of the lists has a member. */
export interface MembershipChange {
  readonly joined: readonly Member[];
  readonly left: readonly Member[];
}

export interface MemberSource {
  /** The members as they are now, without this node itself if the source can tell. */
  members(): readonly Member[];
  /** Calls the listener with each change. */
  watch(listener: (change: MembershipChange) => void): Cancel;
  /** Ends all timers and look-ups. The members stay as they are. */
  close(): void;
}

/**
 * The most members of one fleet: as many as there may be streams at the HTTP adapter. A fleet that
 * needs more has groups.
 */
export const MOST_MEMBERS = 1024;
