export { type OpenCaptureOptions, openCapture, unpackCapture } from './open-capture.ts';
