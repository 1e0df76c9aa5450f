"""The pages of the toys: tables, figures and claims. No run imports them while it computes."""
