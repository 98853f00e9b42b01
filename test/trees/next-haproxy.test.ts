import t from 'tap'
import { nextTree } from '../system/next-haproxy.ts'
import { build } from './build.ts'

build(t, nextTree, 'haproxy', '-v')
