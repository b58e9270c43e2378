"""Plans and what is made of them."""
