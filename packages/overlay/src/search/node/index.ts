/** A peer that shares folders of the disk, for Node. */

export {
  type FolderEntry,
  type FolderRules,
  folderEntries,
  type LeftOutReason,
  MOST_FILE_BYTES,
} from './folder-files.ts';
export type { GroupMember, GroupMemberOptions } from './group-member.ts';
export { type Invitation, invitationText, newInvitation, readInvitation } from './invitation.ts';
export { ShareDaemon, type ShareDaemonOptions } from './share-daemon.ts';
