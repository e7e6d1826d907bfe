/**
 * Membership: which nodes belong to a fleet, from the settings or from the DNS, and how it changes
 * while they run.
 */

export { DnsMembers, type DnsMembersOptions, type DnsReport } from './dns/dns-members.ts';
export { type DnsName, formatDnsName, parseDnsName } from './dns/dns-name.ts';
export {
  type AddressRecord,
  type NameResolver,
  nodeResolver,
  type ServiceRecord,
} from './dns/name-resolver.ts';
export { type GroupMember, groupOf } from './groups/decisions/group-of.ts';
export { isStronger, type LeaderClaim, stabilityOf } from './groups/decisions/leader-claim.ts';
export {
  type Candidate,
  type GroupView,
  LeaderElection,
  type LeaderElectionOptions,
} from './groups/decisions/leader-election.ts';
export { type Member, type MemberSource, type MembershipChange, MOST_MEMBERS } from './member-source.ts';
export { Membership } from './membership.ts';
export { StaticMembers } from './static-members.ts';
