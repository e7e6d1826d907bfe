#!/usr/bin/env node
// The command, as the tests and tools of this repository run it: the same files that the package
// `bloomery` carries.

import '../../../packages/bloomery/bin/bloomery.js';
