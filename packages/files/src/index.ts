export { errorCode, FileError, type FileErrorCode } from './file-error.ts';
