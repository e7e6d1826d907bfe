export { replaceFile, type WriteOptions, writeAtomically } from './atomic-file.ts';
export { readAll, syncDirectory, writeAll } from './descriptor-bytes.ts';
export { errorCode, FileError, type FileErrorCode } from './file-error.ts';
export {
  type JournalOutcome,
  type JournalReport,
  placeOf,
  type RecoveryOptions,
  recoverFile,
  settle,
} from './journal/journal-recovery.ts';
export {
  journalName,
  type PageChanges,
  type Written,
  writePages,
  writeSteps,
} from './journal/page-journal.ts';
export { readSettled } from './journal/settled-file.ts';
export {
  type FileLock,
  FileLockedError,
  type FileLockOptions,
  lockFile,
  lockName,
} from './lock/file-lock.ts';
export { FolderLock, type FolderLockOptions, FolderTakenError, isLockName } from './lock/folder-lock.ts';
export { describeHolder, type LockHolder } from './lock/lock-owner.ts';
export { isAnswered } from './lock/lock-socket.ts';
export { PagedFilter, type PagedFilterOptions } from './paged/paged-filter.ts';
export { PagedFrame, type PagedFrameOptions } from './paged/paged-frame.ts';
export { isTemporaryName, removeLeftovers, temporaryName } from './temporary-file.ts';
export { WordSpool } from './word-spool.ts';
