import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const cwd = temporaryFolder();
const run = (...args: string[]) => bloomery(args, { cwd });

test('from keys to a verified filter, which openssl verifies as well', () => {
  expect(run('sign', '--generate', 'publisher')).toEqual({ code: 0, stdout: '', stderr: '' });
  const keys = Array.from({ length: 1000 }, (_, i) => `key ${i}\n`).join('');
  bloomery(['build', '-o', 'keys.blm'], { cwd, input: keys });
  const signed = run('sign', 'keys.blm', '--key', 'publisher', '--name', 'keys', '--epoch', '7', '--json');
  const sha256 = createHash('sha256')
    .update(readFileSync(join(cwd, 'keys.blm')))
    .digest('hex');
  expect(JSON.parse(signed.stdout)).toMatchObject({ output: 'keys.blm.sig', bytes: 124, epoch: 7, sha256 });

  const verified = run('verify', 'keys.blm', '--signed-by', 'publisher.pub', '--name', 'keys');
  expect(verified.code).toBe(0);
  expect(verified.stdout).toMatch(/^signature +✓ made with publisher\.pub$/m);
  expect(verified.stdout).toMatch(/^keys\.blm: signed$/m);

  const script = `{ printf 'bloomery signature 1\\n'; head -c -64 keys.blm.sig; } > message
    tail -c 64 keys.blm.sig > signature
    openssl pkeyutl -verify -pubin -inkey publisher.pub -rawin -in message -sigfile signature`;
  expect(execFileSync('sh', ['-c', script], { cwd }).toString()).toMatch(/Signature Verified Successfully/);
});

test('verify makes the experiment only if it is asked for, and both count', () => {
  const signed = ['verify', 'keys.blm', '--signed-by', 'publisher.pub', '--name', 'keys'];
  const both = run(...signed, '--trials', '10000', '--json');
  expect(both.code).toBe(0);
  expect(JSON.parse(both.stdout)).toMatchObject({ publication: { signed: true, epoch: 7 }, kept: true });
  const bytes = readFileSync(join(cwd, 'keys.blm'));
  bytes[100] ^= 1;
  writeFileSync(join(cwd, 'changed.blm'), bytes);
  const changed = ['verify', 'changed.blm', ...signed.slice(2), '--signature', 'keys.blm.sig'];
  const refused = run(...changed, '--json');
  expect([refused.code, JSON.parse(refused.stdout)]).toMatchObject([1, { signed: false, code: 'contents' }]);
  expect(run(...changed).stdout).toMatch(
    /^signature +✗ it is for other contents.*\nchanged\.blm: not signed$/m,
  );
});

test('the signature of an index covers what sha256sum says about its files', () => {
  mkdirSync(join(cwd, 'logs'));
  for (const name of ['a.log', 'b.log']) {
    writeFileSync(join(cwd, 'logs', name), `${name} says hello\n`.repeat(2000));
  }
  expect(run('index', 'logs').code).toBe(0);
  const signed = run('sign', 'logs', '--key', 'publisher', '--epoch', '1', '--json');
  const place = join(cwd, 'logs', '.bloomery');
  const { stdout } = spawnSync('sh', ['-c', 'LC_ALL=C sha256sum *.text text.json'], { cwd: place });
  const sha256 = createHash('sha256').update(stdout).digest('hex');
  const expected = {
    structure: 'TextIndex',
    length: stdout.length,
    sha256,
    output: 'logs/.bloomery/text.sig',
  };
  expect(JSON.parse(signed.stdout)).toMatchObject(expected);
  expect(run('verify', 'logs', '--signed-by', 'publisher.pub').code).toBe(0);

  const name = readdirSync(place).find((file) => file.endsWith('.text'))!;
  const bytes = readFileSync(join(place, name));
  writeFileSync(
    join(place, name),
    bytes.map((byte, i) => (i === 1000 ? byte ^ 4 : byte)),
  );
  expect(run('verify', 'logs/.bloomery', '--signed-by', 'publisher.pub').code).toBe(1);
  writeFileSync(join(place, name), bytes);

  writeFileSync(join(place, 'left.text'), 'half an index');
  const half = run('sign', 'logs', '--key', 'publisher', '--force');
  expect([half.code, half.stderr]).toEqual([2, expect.stringMatching(/the index was left half-way/)]);

  appendFileSync(join(cwd, 'logs', 'a.log'), 'one more line\n'.repeat(100));
  expect(run('index', 'logs').code).toBe(0);
  expect(run('verify', 'logs', '--signed-by', 'publisher.pub').code).toBe(1);
  expect(run('sign', 'logs', '--key', 'publisher', '--force').code).toBe(0);
  expect(run('verify', 'logs', '--signed-by', 'publisher.pub', '--at-least-epoch', '2').code).toBe(0);
});

test('an epoch that does not rise is refused, and so are contradictions', () => {
  const messages: [args: string[], message: RegExp][] = [
    [['sign', 'keys.blm', '--key', 'publisher'], /keys\.blm\.sig exists already; --force replaces it/],
    [
      ['sign', 'keys.blm', '--key', 'publisher', '--force', '--epoch', '7'],
      /keys\.blm\.sig has epoch 7 already; --epoch must be higher than that, got 7/,
    ],
    [['sign', 'keys.blm'], /expected a file and --key/],
    [['sign', 'keys.blm', '--key', 'publisher', '--name', 'ü', '-o', 'x'], /printable ASCII/],
    [['verify', 'keys.blm', '--name', 'keys'], /belong to --signed-by; name the public key/],
    [['verify', '--signed-by', 'publisher.pub', '-'], /--signature names the file/],
    [['info', 'keys.blm.sig'], /is a signature, not a filter; verify a file with/],
  ];
  for (const [args, message] of messages) {
    expect(run(...args), args.join(' ')).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  }
});
