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
