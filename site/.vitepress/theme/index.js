import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import FencePicture from './FencePicture.vue'
import GrantsPicture from './GrantsPicture.vue'
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': () => h(FencePicture) }),
  enhanceApp({ app }) {
    app.component('GrantsPicture', GrantsPicture)
  },
}
