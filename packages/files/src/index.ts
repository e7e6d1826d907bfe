export { syncDirectory, type WriteOptions, writeAll, writeAtomically } from './atomic-file.ts';
export { errorCode, FileError, type FileErrorCode } from './file-error.ts';
export {
  hasJournal,
  type JournalOutcome,
  type JournalReport,
  journalName,
  type PageChanges,
  placeOf,
  type RecoveryOptions,
  readAll,
  recoverFile,
  settle,
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
