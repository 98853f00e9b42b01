import { containerTree } from '../system/container.ts'
import { build } from './build.ts'

build(containerTree, 'haproxy', '-v')
