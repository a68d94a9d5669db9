import { mount } from 'svelte';
import App from './App.svelte';
import './style/base.css';
import './style/layout.css';
import './style/chat.css';
import './style/markdown.css';
import { app } from './state/app.svelte.ts';
import { offer } from './state/contract.ts';

offer(window);
app.start();
mount(App, { target: document.getElementById('app')! });
