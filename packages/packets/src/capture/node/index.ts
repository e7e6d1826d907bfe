export { type ExportDatagram, type ListenExportsOptions, listenExports } from './listen-exports.ts';
export { type OpenCaptureOptions, openCapture, unpackCapture } from './open-capture.ts';
