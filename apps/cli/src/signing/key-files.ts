/**
 * The keys of a publisher in files: Ed25519 as PEM, the private key in PKCS#8 and the public one in
 * SubjectPublicKeyInfo (RFC 8410), as openssl reads and writes them.
 *
 * The two are named as ssh-keygen names them: `publisher` and `publisher.pub`. A private key that
 * other users can read is refused, as ssh does. We have no passwords for private keys: a key that
 * openssl has encrypted is refused with a hint, because a job that signs every hour could not type
 * one.
 */

import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readFileSync, rmSync } from 'node:fs';
import { errorCode, writeAll } from '@bloomery/files';
import { readPublicKey, SignatureError, type SignEd25519 } from 'bloomery/signing';
import { UsageError } from '../usage-error.ts';

/** Makes a pair of keys: `path` gets the private one, `path`.pub the public one. */
export function generateKeys(path: string): { readonly privateKey: string; readonly publicKey: string } {
  const publicPath = `${path}.pub`;
  for (const taken of [path, publicPath]) if (existsSync(taken)) throw taking(taken);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  writeNew(path, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 0o600);
  try {
    writeNew(publicPath, publicKey.export({ type: 'spki', format: 'pem' }) as string, 0o644);
  } catch (error) {
    rmSync(path);
    throw error;
  }
  return { privateKey: path, publicKey: publicPath };
}

/** Reads a private key, and returns the function that signs with it. */
export function readSigner(path: string): SignEd25519 {
  const pem = readPrivate(path);
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new UsageError(`${path} ${explain(pem)}`, { cause });
  }
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new UsageError(`${path} is a key for ${key.asymmetricKeyType}, expected Ed25519; ${MAKE_ONE}`);
  }
  return (message) => new Uint8Array(sign(null, message, key));
}

/** Reads a public key: PEM, DER, or 32 bytes. */
export function readPublicKeyFile(path: string): Uint8Array {
  const bytes = readFileSync(path);
  const isText = bytes.includes('-----');
  try {
    return readPublicKey(isText ? bytes.toString('latin1') : Uint8Array.from(bytes));
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    const hint = /PRIVATE KEY/.test(bytes.toString('latin1'))
      ? `is a private key, expected the public one; is it ${path}.pub?`
      : 'is no public key of Ed25519; bloomery sign --generate and openssl pkey -pubout write such files';
    throw new UsageError(`${path} ${hint}`, { cause: error });
  }
}

function readPrivate(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const { mode } = fstatSync(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, '0');
      throw new UsageError(
        `${path} is a private key that other users can read or change (mode ${shown}); chmod 600 ${path} closes it`,
      );
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function explain(pem: Buffer): string {
  const text = pem.toString('latin1');
  if (/ENCRYPTED/.test(text))
    return 'is encrypted with a password, which is not supported; openssl pkey -in OLD -out NEW removes it';
  if (/BEGIN OPENSSH/.test(text))
    return `is a key of OpenSSH, expected PKCS#8 as openssl writes it; ${MAKE_ONE}`;
  if (/BEGIN PUBLIC/.test(text)) return 'is a public key, expected the private one';
  return `is no private key of Ed25519 in PEM; ${MAKE_ONE}`;
}

/** Writes a file that must not exist, with these rights from its first moment. */
function writeNew(path: string, text: string, mode: number): void {
  let file: number;
  try {
    file = openSync(path, 'wx', mode);
  } catch (error) {
    throw errorCode(error) === 'EEXIST' ? taking(path) : error;
  }
  try {
    writeAll(file, Buffer.from(text));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A key is never replaced, not even with --force: what it signed could not be followed by more. */
function taking(path: string): UsageError {
  return new UsageError(`${path} exists already, and a key is never replaced; choose another name`);
}

const MAKE_ONE = 'bloomery sign --generate FILE makes one';
