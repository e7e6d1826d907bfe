/**
 * The recipe of docs/guide/cli.md by which `passwd` refuses bad passwords, with the real `passwd`
 * and the real PAM. It runs in a mount namespace with a copy of /etc, so that no account of the
 * machine changes. It needs root, and the module of Debian's package libpam-script. That package
 * changes the PAM configuration when it is installed, so `npm test` does not install it:
 *
 *     apt-get download libpam-script && dpkg -x libpam-script_*.deb /tmp/pam
 *     BLOOMERY_PAM_SCRIPT=/tmp/pam/lib/x86_64-linux-gnu/security/pam_script.so \
 *       npx vitest run --project node apps/cli/test/passwd
 */

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const COMMAND = fileURLToPath(new URL('../../bin/bloomery.js', import.meta.url));
const MODULE = process.env.BLOOMERY_PAM_SCRIPT;

describe.skipIf(MODULE === undefined)('passwd, by the recipe of the guide', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bloomery-passwd-'));
    for (const name of ['etc', 'scripts']) mkdirSync(join(folder, name));
    const build = [COMMAND, 'password', 'build', '-', '-o', join(folder, 'bad.blpw')];
    const { status } = spawnSync(process.execPath, build, { input: 'dragon\nsunshine\n' });
    expect(status).toBe(0);
    const script = join(folder, 'scripts/pam_script_passwd');
    const check = `"${process.execPath}" "${COMMAND}" password check -b "${folder}/bad.blpw"`;
    writeFileSync(script, `#!/bin/sh\nprintf '%s' "$PAM_AUTHTOK" | ${check}\n`);
    chmodSync(script, 0o755);
    chmodSync(folder, 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A user changes the own password, or root that of the user, which is not checked. */
  function passwd(
    password: string,
    byRoot = false,
  ): { status: number | null; output: string; changed: boolean } {
    const stack = [
      'password requisite pam_pwhistory.so remember=1',
      'password [success=1 default=ignore] pam_rootok.so',
      `password requisite ${MODULE} dir=${folder}/scripts`,
      'password required pam_unix.so yescrypt use_authtok',
    ];
    const lines = [
      'set -e',
      'mount --make-rprivate /',
      `mount -t tmpfs tmpfs ${folder}/etc`,
      `cp -a /etc/. ${folder}/etc`,
      `mount --bind ${folder}/etc /etc`,
      'echo "bloomery-test:x:4711:4711::/nonexistent:/bin/sh" >> /etc/passwd',
      'echo "bloomery-test:!:19000:0:99999:7:::" >> /etc/shadow',
      'echo "bloomery-test:Old-secret-1" | chpasswd',
      'before=$(grep ^bloomery-test: /etc/shadow)',
      `printf '%s\\n' ${stack.map((line) => `'${line}'`).join(' ')} > /etc/pam.d/passwd`,
      'set +e',
      `${byRoot ? '' : 'setpriv --reuid=4711 --regid=4711 --clear-groups '}passwd bloomery-test 2>&1; code=$?`,
      'test "$before" = "$(grep ^bloomery-test: /etc/shadow)" || echo CHANGED',
      'exit $code',
    ];
    const { status, stdout } = spawnSync('unshare', ['-m', 'sh', '-c', lines.join('\n')], {
      input: `${byRoot ? '' : 'Old-secret-1\n'}${password}\n${password}\n`,
      encoding: 'utf8',
    });
    return { status, output: stdout, changed: stdout.includes('CHANGED') };
  }

  test.each(['dragon', 'Dragon12', 'Sunshine1!', 'n0gard'])('refuses %s', (password) => {
    const { status, output, changed } = passwd(password);
    expect(output).toContain('refused: ');
    expect([status === 0, changed]).toEqual([false, false]);
  });

  test('takes a good password', () => {
    const { status, output, changed } = passwd('lamp quartz 7 fjord');
    expect(output).toContain('accepted');
    expect([status, changed], output).toEqual([0, true]);
  });

  test('lets root choose any password for a user', () => {
    const { status, output, changed } = passwd('Dragon12', true);
    expect([status, changed], output).toEqual([0, true]);
  });
});
