import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run-command.ts';
import { UsageError } from '../usage-error.ts';
import { generateKeys, readPublicKeyFile, readSigner } from './key-files.ts';

const folder = temporaryFolder();
const path = (name: string) => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
const message = Buffer.from('a message');

function writePrivate(name: string, text: string): string {
  writeFileSync(path(name), text, { mode: 0o600 });
  return path(name);
}

test('generateKeys writes a pair that openssl reads, and the private one is for its owner alone', async () => {
  const { privateKey, publicKey } = generateKeys(path('pair'));
  expect([privateKey, publicKey]).toEqual([path('pair'), path('pair.pub')]);
  expect(statSync(privateKey).mode & 0o777).toBe(0o600);
  expect(openssl('pkey', '-in', 'pair', '-noout', '-text').toString()).toMatch(/^ED25519 Private-Key/);
  expect(openssl('pkey', '-in', 'pair', '-pubout').toString()).toBe(readFileSync(publicKey, 'utf8'));
  const signature = await readSigner(privateKey)(message);
  expect(verify(null, message, createPublicKey(readFileSync(publicKey)), signature)).toBe(true);
});

test('generateKeys never replaces a file, and leaves nothing half made', () => {
  writeFileSync(path('taken.pub'), 'mine');
  expect(() => generateKeys(path('taken'))).toThrow(/taken\.pub exists already, and a key is never replaced/);
  expect(existsSync(path('taken'))).toBe(false);
  writeFileSync(path('held'), 'mine');
  expect(() => generateKeys(path('held'))).toThrow(UsageError);
  expect(existsSync(path('held.pub'))).toBe(false);
  expect(readFileSync(path('held'), 'utf8')).toBe('mine');
});

test('keys of openssl are read, public ones as PEM, DER and 32 bytes', async () => {
  openssl('genpkey', '-algorithm', 'ed25519', '-out', 'theirs');
  chmodSync(path('theirs'), 0o600);
  openssl('pkey', '-in', 'theirs', '-pubout', '-out', 'theirs.pub');
  openssl('pkey', '-in', 'theirs', '-pubout', '-outform', 'DER', '-out', 'theirs.der');
  const der = readFileSync(path('theirs.der'));
  writeFileSync(path('theirs.raw'), der.subarray(12));
  for (const name of ['theirs.pub', 'theirs.der', 'theirs.raw']) {
    expect(Buffer.from(readPublicKeyFile(path(name)))).toEqual(der.subarray(12));
  }
  const key = createPublicKey(readFileSync(path('theirs.pub')));
  expect(verify(null, message, key, await readSigner(path('theirs'))(message))).toBe(true);
});

test.each([0o640, 0o604, 0o660, 0o666])('readSigner refuses a private key of mode %o', (mode) => {
  const { privateKey } = generateKeys(path(`open-${mode}`));
  chmodSync(privateKey, mode);
  expect(() => readSigner(privateKey)).toThrow(/other users can read or change \(mode 06\d\d\); chmod 600/);
});

test('other keys are refused with the reason', () => {
  const { privateKey, publicKey } = generateKeys(path('swapped'));
  chmodSync(publicKey, 0o600);
  expect(() => readSigner(publicKey)).toThrow(/is a public key, expected the private one/);
  expect(() => readPublicKeyFile(privateKey)).toThrow(
    /is a private key, expected the public one; is it .*\.pub\?/,
  );
  const { privateKey: p256 } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ec = writePrivate('ec', p256.export({ type: 'pkcs8', format: 'pem' }) as string);
  expect(() => readSigner(ec)).toThrow(/is a key for ec, expected Ed25519/);
  openssl('pkey', '-in', 'swapped', '-aes128', '-passout', 'pass:abcd', '-out', 'locked');
  chmodSync(path('locked'), 0o600);
  expect(() => readSigner(path('locked'))).toThrow(/is encrypted with a password/);
  expect(() => readSigner(writePrivate('none', 'hello'))).toThrow(/is no private key of Ed25519 in PEM/);
  expect(() => readPublicKeyFile(path('none'))).toThrow(/is no public key of Ed25519/);
  const ssh = writePrivate(
    'ssh',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
  );
  expect(() => readSigner(ssh)).toThrow(/is a key of OpenSSH/);
});
