/**
 * Queries that look as if they held a secret: a token, a password, the signature of a URL. A URL
 * with such a query is a key to something, so neither it nor its response goes to a neighbour,
 * unless the operator allows that for a prefix (`--share`).
 *
 * Only names are judged, and values that are JSON Web Tokens. We refused to judge other values by
 * their randomness: `?v=5d41402abc4b2a76b9719d911017c592` is the version of a style sheet far more
 * often than a secret. The list errs on the side of secrets: a wrong guess costs a fetch from the
 * origin, a missed secret cannot be taken back. It breaks down where an application uses a name of
 * its own (`?u=…`); such responses should have `Cache-Control: private`.
 */

/** Patterns of names in lower case, letters and digits only, each with what it stands for. */
const SECRET_NAMES: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/token|jwt|bearer/, 'tokens of APIs, downloads and forms'],
  [/secret|passw|passphrase|pwd|^pass$|^pin$|otp$/, 'passwords'],
  [
    /sig$|signature|signed$|^sign$|hmac|^md5$|^mac$/,
    'signed URLs: nginx secure_link, Azure (sig), CloudFront',
  ],
  [/^x(amz|goog|oss|cos|ms|bz)/, 'pre-signed URLs: S3, Google Cloud, Alibaba, Tencent, Azure, Backblaze'],
  [/^hdn(ea|ts|tl)|^gda$|^policy$|^keypairid$/, 'Akamai and CloudFront'],
  [/^key$|(api|access|auth|private|account|secret|licen[sc]e|subscription)key(id)?$/, 'keys of APIs'],
  [/accessid$|clientid$|^awsaccesskeyid$/, 'whose signature it is, beside the signature'],
  [/session|sessid|^sid$|^ssid$/, 'sessions: PHPSESSID, jsessionid'],
  [/^auth$|authoriz|authentic|credential|oauth|saml|^ticket$|^code$|^nonce$|^state$/, 'log-ins'],
  [/invite|^magic|^reset|^unsubscribe|^verify|^confirm/, 'links that were mailed to one person'],
];

/** A JSON Web Token (RFC 7519): the head `{"` in Base64, then a dot. */
const TOKEN_VALUE = /^eyJ[\w-]+\./;

/** Whether the query of a key (a URL) looks as if it held a secret. */
export function hasSecretQuery(key: string): boolean {
  const question = key.indexOf('?');
  if (question < 0 || question === key.length - 1) return false;
  for (const pair of key.slice(question + 1).split(/[&;]/)) {
    const equals = pair.indexOf('=');
    const name = plain(equals < 0 ? pair : pair.slice(0, equals));
    if (SECRET_NAMES.some(([pattern]) => pattern.test(name))) return true;
    if (equals >= 0 && TOKEN_VALUE.test(pair.slice(equals + 1))) return true;
  }
  return false;
}

/** `X-Amz-Signature` → `xamzsignature`, `auth%5Btoken%5D` → `authtoken`. */
function plain(name: string): string {
  let text = name;
  try {
    text = decodeURIComponent(name);
  } catch {
    // A name with a broken escape is judged as it is written.
  }
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
