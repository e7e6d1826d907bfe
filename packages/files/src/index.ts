export { syncDirectory, type WriteOptions, writeAll, writeAtomically } from './atomic-file.ts';
export { errorCode, FileError, type FileErrorCode } from './file-error.ts';
export { FolderLock, type FolderLockOptions, FolderTaken, isLockName } from './lock/folder-lock.ts';
