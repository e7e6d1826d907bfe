export { certifiedNames } from './certificates/certified-names.ts';
export { type CertificatePem, checkPem, FleetCertificates } from './certificates/fleet-certificates.ts';
export { HTTP_LIMITS, type HttpLimits } from './http-limits.ts';
export { HttpTransport, type HttpTransportOptions } from './http-transport.ts';
export type { TlsOptions } from './peer-client.ts';
export {
  type AcceptedRequest,
  bodyDigest,
  isNodeId,
  nonceOf,
  type ReceivedRequest,
  RequestSigner,
  RequestVerifier,
  SIGNATURE_FIELD,
  type SignableRequest,
  type SignatureRefusal,
  type Verdict,
  type VerifierOptions,
} from './signature.ts';
