import { movingTree } from '../system/container.ts'
import { build } from './build.ts'

build(movingTree, 'keepalived', '--version')
