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
export {
  GroupDirectory,
  type GroupDirectoryOptions,
  type GroupList,
  type GroupOwner,
} from './groups/decisions/group-directory.ts';
export { type GroupMember, groupOf } from './groups/decisions/group-of.ts';
export { isStronger, type LeaderClaim, stabilityOf } from './groups/decisions/leader-claim.ts';
export {
  type Candidate,
  type GroupView,
  LeaderElection,
  type LeaderElectionOptions,
} from './groups/decisions/leader-election.ts';
export { type LedGroup, LIST_REPEAT_MS, ListTeller } from './groups/decisions/list-teller.ts';
export { GroupLists, type GroupListsOptions } from './groups/group-lists.ts';
export { GroupTransport, topicInGroup } from './groups/group-transport.ts';
export { LeaderBeats, type LeaderBeatsOptions } from './groups/leader-beats.ts';
export { type Member, type MemberSource, type MembershipChange, MOST_MEMBERS } from './member-source.ts';
export { Membership } from './membership.ts';
export { StaticMembers } from './static-members.ts';
