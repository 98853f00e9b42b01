import t from 'tap'
import { bareTree } from '../system/packaged-machine.ts'
import { build } from './build.ts'

// Offered packages can be installed. apt itself would write into the tree.
build(t, bareTree, 'sh', '-c', 'ls /var/cache/apt/archives/haproxy_*.deb')
