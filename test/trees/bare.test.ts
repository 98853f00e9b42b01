import t from 'tap'
import { bareTree } from '../system/packaged-machine.ts'
import { build } from './build.ts'

// What is offered is there to be installed. apt itself would write into the tree.
build(t, bareTree, 'sh', '-c', 'ls /var/cache/apt/archives/haproxy_*.deb')
