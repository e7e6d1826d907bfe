/** Membership: which nodes belong to a fleet, and how that changes while they run. */

export { type Member, type MemberSource, type MembershipChange, MOST_MEMBERS } from './member-source.ts';
export { Membership } from './membership.ts';
export { StaticMembers } from './static-members.ts';
