export { syncDirectory, type WriteOptions, writeAll, writeAtomically } from './atomic-file.ts';
export { errorCode, FileError, type FileErrorCode } from './file-error.ts';
export { FolderLock, type FolderLockOptions, FolderTakenError, isLockName } from './lock/folder-lock.ts';
