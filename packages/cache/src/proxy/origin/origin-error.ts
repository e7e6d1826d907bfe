/**
 * Failures of a fetch from an origin, in the terms of RFC 9209 (Proxy-Status, 2.3). Each failure
 * has one of its error types as `code`, the status for the client, and a sentence that says what
 * was expected and what came.
 *
 * The statuses are those that RFC 9209 recommends, with one exception: a forbidden address is 403
 * here, not 502, because this node refused it and the origin did not fail.
 *
 * Names, addresses and ports of the origin are in the text, because the client asked for them;
 * causes from the operating system are given by their code only.
 */

export type OriginErrorCode =
  | 'dns_error'
  | 'destination_ip_prohibited'
  | 'destination_unavailable'
  | 'connection_refused'
  | 'connection_terminated'
  | 'connection_timeout'
  | 'connection_read_timeout'
  | 'connection_limit_reached'
  | 'tls_certificate_error'
  | 'tls_protocol_error'
  | 'http_request_error'
  | 'http_response_incomplete'
  | 'http_response_header_section_size'
  | 'http_response_body_size'
  | 'http_response_timeout'
  | 'http_protocol_error'
  | 'proxy_internal_error';

const statuses: { readonly [code in OriginErrorCode]: number } = {
  dns_error: 502,
  destination_ip_prohibited: 403,
  destination_unavailable: 503,
  connection_refused: 502,
  connection_terminated: 502,
  connection_timeout: 504,
  connection_read_timeout: 504,
  connection_limit_reached: 503,
  tls_certificate_error: 502,
  tls_protocol_error: 502,
  http_request_error: 400,
  http_response_incomplete: 502,
  http_response_header_section_size: 502,
  http_response_body_size: 502,
  http_response_timeout: 504,
  http_protocol_error: 502,
  proxy_internal_error: 500,
};

export class OriginError extends Error {
  override readonly name = 'OriginError';
  readonly code: OriginErrorCode;
  /** The status for the client if nothing was sent yet. */
  readonly status: number;

  constructor(code: OriginErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.status = statuses[code];
  }
}

/** How much of the response had arrived. */
export type ResponseProgress = 'nothing' | 'some' | 'head';

/** Converts an error of undici, a socket, a lookup or TLS into an `OriginError`. */
export function toOriginError(cause: unknown, origin: string, progress: ResponseProgress): OriginError {
  if (cause instanceof OriginError) return cause;
  const { code = '', message = String(cause) } = (cause ?? {}) as { code?: string; message?: string };
  const fail = (kind: OriginErrorCode, text: string) =>
    new OriginError(kind, `${origin}: ${text}`, { cause });
  switch (code) {
    case 'ADDRESS_REFUSED':
      return fail('destination_ip_prohibited', `${message} (--allow-private and --allow-address open more)`);
    case 'ECONNREFUSED':
      return fail('connection_refused', 'connection refused');
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAI_NODATA':
      return fail('dns_error', `the name has no address (${code})`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return fail('destination_unavailable', `unreachable (${code})`);
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return fail('connection_timeout', 'no connection within the time allowed');
    case 'UND_ERR_HEADERS_OVERFLOW':
      return fail('http_response_header_section_size', 'the head of the response is longer than allowed');
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return fail('http_response_body_size', 'the body of the response is longer than allowed');
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      // Before the head is complete, this error is about the fields: two lengths, or a length and
      // chunks.
      return progress === 'head'
        ? fail('http_response_incomplete', 'the body is not as long as its Content-Length says')
        : fail('http_protocol_error', 'the response contradicts itself about its length');
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH':
    case 'UND_ERR_NOT_SUPPORTED':
      return fail('http_request_error', `the request cannot be sent: ${message}`);
    case 'UND_ERR_SOCKET':
    case 'ECONNRESET':
    case 'EPIPE':
      if (message === 'bad response' || message === 'bad upgrade') {
        return fail('http_protocol_error', 'an interim response that was not asked for');
      }
      return progress !== 'nothing'
        ? fail('http_response_incomplete', 'the connection ended within the response')
        : fail('connection_terminated', 'the connection ended before a response came');
  }
  // undici's parser errors have no code; the parser's own code is in the message.
  if ((cause as Error | null)?.name === 'HTTPParserError') {
    return /EOF/i.test(message)
      ? fail('http_response_incomplete', 'the connection ended within the response')
      : fail(
          'http_protocol_error',
          `the response is not HTTP/1.1: ${/\((.*)\)/.exec(message)?.[1] ?? message}`,
        );
  }
  if (
    code.startsWith('ERR_TLS_CERT') ||
    code.startsWith('CERT_') ||
    /SELF_SIGNED|UNABLE_TO_|ISSUER/.test(code)
  ) {
    return fail('tls_certificate_error', `its certificate is not trusted (${code})`);
  }
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS') || code === 'EPROTO') {
    return fail('tls_protocol_error', `TLS failed (${code})`);
  }
  return fail(
    progress === 'nothing' ? 'connection_terminated' : 'http_response_incomplete',
    code === '' ? message : `failed (${code})`,
  );
}
