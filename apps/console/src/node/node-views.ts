/** The entry of the file node.js: both views that need a node. */

import './neighbours-view.tsx';
import './now-view.tsx';
