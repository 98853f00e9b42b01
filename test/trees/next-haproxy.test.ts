import { nextTree } from '../system/next-haproxy.ts'
import { build } from './build.ts'

build(nextTree, 'haproxy', '-v')
