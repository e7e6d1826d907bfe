// A connection over TCP for `reconcile`, where a user would take ssh:
//   node tcp-carrier.mjs listen HOST PORT PROGRAM WORDS…    starts the program for each connection
//   node tcp-carrier.mjs connect HOST PORT                  joins standard input and output to one
//
// If a file `kill-there` or `kill-here` is in the folder, the side of that name is killed (SIGKILL)
// when as many bytes of answers as it says have passed, once.

import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { PassThrough, Transform } from 'node:stream';

const [mode, host, port, program, ...words] = process.argv.slice(2);

/** Passes on as many bytes as the file says, no more of them, and calls `kill` then. */
function killing(file, kill) {
  let left = Number.POSITIVE_INFINITY;
  try {
    left = Number(readFileSync(file, 'utf8'));
    rmSync(file);
  } catch {
    return new PassThrough(); // none is to be killed
  }
  return new Transform({
    transform(chunk, _, done) {
      if (left > 0) this.push(chunk.subarray(0, left));
      if (left > 0 && left <= chunk.length) kill();
      left -= chunk.length;
      done();
    },
  });
}

if (mode === 'listen') {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    socket.on('error', () => child.kill());
    child.stdin.on('error', () => {});
    child.on('exit', () => socket.destroySoon());
    socket.pipe(child.stdin);
    child.stdout.pipe(killing('kill-there', () => child.kill('SIGKILL'))).pipe(socket);
  });
  server.listen(Number(port), host, () => console.log('listening'));
} else {
  const socket = connect({ host, port: Number(port), allowHalfOpen: true });
  const parent = process.ppid;
  socket.on('error', () => process.exit(1));
  process.stdout.on('error', () => process.exit(1));
  process.stdin.pipe(socket);
  const answers = socket.pipe(killing('kill-here', () => process.kill(parent, 'SIGKILL')));
  answers.on('end', () => process.stdout.write('', () => process.exit(0)));
  answers.pipe(process.stdout, { end: false });
}
